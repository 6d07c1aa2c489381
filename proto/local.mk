# proto/ — the only schema. protoc-c runs once a file and makes both the .c and the .h (a grouped
# target would need GNU make 4.3, which automake does not know).
proto_files = proto/value.proto proto/job.proto proto/platform.proto proto/site.proto proto/policy.proto \
  proto/client.proto proto/view.proto proto/record.proto proto/agent.proto proto/api.proto
proto_c = $(proto_files:.proto=.pb-c.c)
proto_h = $(proto_files:.proto=.pb-c.h)
EXTRA_DIST += $(proto_files)
BUILT_SOURCES += $(proto_c) $(proto_h)
CLEANFILES += $(proto_c) $(proto_h)

.proto.pb-c.c:
	$(AM_V_GEN)$(MKDIR_P) proto && $(PROTOC_C) --proto_path=$(srcdir)/proto --c_out=proto $<
.pb-c.c.pb-c.h:
	@test -f $@ || { rm -f $<; $(MAKE) $(AM_MAKEFLAGS) $<; }
SUFFIXES = .proto .pb-c.c .pb-c.h

# Generated code is compiled without our warnings.
noinst_LIBRARIES += libproto.a
nodist_libproto_a_SOURCES = $(proto_c) $(proto_h)
libproto_a_CFLAGS = $(SAN_CFLAGS)
