# examples — job files of published training runs, and a receiver of notifications
examplesdir = $(docdir)/examples
dist_examples_DATA = \
  examples/btlm-3b.yaml \
  examples/cerebras-gpt-1.3b.yaml \
  examples/cerebras-gpt-111m.yaml \
  examples/cerebras-gpt-13b.yaml \
  examples/cerebras-gpt-2.7b.yaml \
  examples/cerebras-gpt-256m.yaml \
  examples/cerebras-gpt-590m.yaml \
  examples/cerebras-gpt-6.7b.yaml \
  examples/llama2-7b.yaml \
  examples/morning.swf \
  examples/webhook-receiver.py
