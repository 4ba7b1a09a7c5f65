"""Which of several candidates is vendored: machine, symbols, release, family and GPU code decide."""
