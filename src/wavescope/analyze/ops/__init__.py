"""What the ops of a trace are and when they ran: the words in which analyses speak of them.

Its modules are its doors. What is large is made once for a trace: `trace.derived(gpu_timelines)`,
likewise `op_labels`, `op_links` and `op_categories`.
"""
