"""What all unit tests share: how hypothesis runs on machines that are slow or shared."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("unit", deadline=None, max_examples=50)
settings.load_profile("unit")
