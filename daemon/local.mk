# daemon/*.c — start up, feed inputs to the core, carry out its effects
