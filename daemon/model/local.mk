# daemon/model — the nouns: schema and text; protobuf-c, libyaml, jansson
noinst_LIBRARIES += libmodel.a
libmodel_a_SOURCES = daemon/model/bind.h daemon/model/job.h daemon/model/limits.h
