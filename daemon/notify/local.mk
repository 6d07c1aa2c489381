# daemon/notify — webhooks: signed posts over HTTP; sd-event, libcurl, libsodium
noinst_LIBRARIES += libnotify.a
libnotify_a_SOURCES = \
  daemon/notify/notify.c daemon/notify/notify.h \
  daemon/notify/secret.c daemon/notify/secret.h \
  daemon/notify/transfers.c daemon/notify/transfers.h

NOTIFY_LIBS = libnotify.a $(MODEL_LIBS) $(CURL_LIBS) $(SYSTEMD_LIBS)
