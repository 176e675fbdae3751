"""What BullMQ's bytes mean: keys, states, scores, jobs and the values read from them; pure, without I/O or a clock."""
