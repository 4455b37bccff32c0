"""Two captures of one kernel compared: by source line and by aligned instructions."""
