# tests/dst
