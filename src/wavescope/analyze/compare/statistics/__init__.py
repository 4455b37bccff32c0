"""Whether a difference between repeated runs is real: effects, their noise, and verdicts on them.

`effects` estimates the difference of two arms, `verdicts` says what to conclude of it, `power` what
could have been found. `run_order` allows for a machine that drifts, `step_noise` and
`unusual_steps` for the steps of a run. The modules are the doors; nothing here knows of traces.
"""
