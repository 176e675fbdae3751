"""What all settings models share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Values(BaseModel):
    """Settings as values: they are frozen and refuse names that they do not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")
