"""What the integration tests stand on: real servers, real BullMQ, an oracle that owes nothing to qobserve."""
