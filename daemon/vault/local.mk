# daemon/vault — checkpoints and logs in a directory
noinst_LIBRARIES += libvault.a
libvault_a_SOURCES = \
  daemon/vault/brief.c daemon/vault/brief.h \
  daemon/vault/checkpoint.c \
  daemon/vault/directory.c daemon/vault/directory.h \
  daemon/vault/floor.c \
  daemon/vault/inside.h \
  daemon/vault/log.c \
  daemon/vault/vault.c daemon/vault/vault.h

# What programs and tests link to have a vault, before the libraries of base.
VAULT_LIBS = libvault.a libproto.a
