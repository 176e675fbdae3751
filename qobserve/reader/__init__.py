"""The only code that talks to Redis in order to observe: read-only commands go out, values of `model` come back."""
