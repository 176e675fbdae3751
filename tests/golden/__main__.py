"""Write the golden files anew: `cd tests && python -m golden`; then read the difference."""

from __future__ import annotations

from golden.page import FILES, text

if __name__ == "__main__":
    for path, content_type in FILES.items():
        path.write_bytes(text(content_type))
