# daemon/net — frames, sockets, who is calling, both ends of a link; sd-event
noinst_LIBRARIES += libnet.a
libnet_a_SOURCES = \
  daemon/net/activation.c daemon/net/activation.h \
  daemon/net/address.c daemon/net/address.h \
  daemon/net/bucket.c daemon/net/bucket.h \
  daemon/net/client.c daemon/net/client.h \
  daemon/net/connect.c daemon/net/connect.h \
  daemon/net/frame.c daemon/net/frame.h \
  daemon/net/hello.c daemon/net/hello.h \
  daemon/net/link.c daemon/net/link.h \
  daemon/net/listener.c daemon/net/listener.h \
  daemon/net/peer.c daemon/net/peer.h \
  daemon/net/unpack.c daemon/net/unpack.h

NET_LIBS = libnet.a libproto.a $(BASE_LIBS) $(PROTOBUF_C_LIBS) $(SYSTEMD_LIBS)
