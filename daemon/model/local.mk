# daemon/model — the nouns: schema and text; protobuf-c, libyaml, jansson
noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = \
  daemon/model/bind.h \
  daemon/model/bind_check.c \
  daemon/model/bind_differ.c \
  daemon/model/bind_error.c \
  daemon/model/bind_field.c daemon/model/bind_field.h \
  daemon/model/bind_json.c \
  daemon/model/bind_leaves.c \
  daemon/model/bind_nearest.c \
  daemon/model/bind_parse.c \
  daemon/model/bind_place.c \
  daemon/model/bind_print.c daemon/model/bind_print.h \
  daemon/model/bind_read.c \
  daemon/model/bind_scalar.c daemon/model/bind_scalar.h \
  daemon/model/bind_schema.c \
  daemon/model/bind_text.c daemon/model/bind_text.h \
  daemon/model/bind_tree.c daemon/model/bind_tree.h \
  daemon/model/bind_yaml.c \
  daemon/model/calendar.c daemon/model/calendar.h \
  daemon/model/job.c daemon/model/job.h \
  daemon/model/job_check.c \
  daemon/model/job_name.c daemon/model/job_name.h \
  daemon/model/job_target.c \
  daemon/model/job_terms.c \
  daemon/model/label.c daemon/model/label.h \
  daemon/model/limits.h \
  daemon/model/message.c daemon/model/message.h \
  daemon/model/priority.c daemon/model/priority.h \
  daemon/model/url.c daemon/model/url.h
