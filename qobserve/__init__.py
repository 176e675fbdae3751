"""qobserve: know, and prove, that BullMQ job queues are healthy."""

__version__ = "0.1.0"
