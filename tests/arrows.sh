#!/bin/sh
# The tree is the architecture: includes point down, neighbours do not meet, each library has its
# homes, and pure folders know no clock, file, socket or thread. A new arrow is a new line here.
set -u

top=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
number=0

# What each folder may include beside itself and the schema. "shell" is daemon/*.c.
arrows='
base
model   base
engine  model base
policy  model base
core    policy model base
store   core model base
vault   model base
net     model base
notify  model base
log     base
replay  core policy model base
sim     engine net vault log model base
shell   core policy store vault net notify log model base
cli     net model base
'

# Who may include which library's headers.
homes='
sqlite3.h     store
sodium.h      base vault notify
yaml.h        model
jansson.h     model
systemd/      net notify log sim shell
pthread.h     store sim shell
curl/         notify
zlib.h        replay
microhttpd.h
'

pure='base model policy engine core'
# What asks the world: a pure folder that needs one of these is not pure.
worldly='time\.h|sys/time\.h|sys/stat\.h|sys/socket\.h|sys/un\.h|fcntl\.h|poll\.h|sys/epoll\.h|signal\.h|pthread\.h|threads\.h|dirent\.h'

# offences TREE: a line for each include that must not be.
offences() {
    # shellcheck disable=SC2016 # fields of awk
    find "$1/daemon" "$1/cli" -name '*.[ch]' | sort |
        TREE=$1/ ARROWS=$arrows HOMES=$homes PURE=" $pure " WORLDLY="^($worldly)$" xargs awk '
        BEGIN {
            count = split(ENVIRON["ARROWS"], lines, "\n")
            for (i = 1; i <= count; i++)
                if (split(lines[i], words, " ") > 0) allowed[words[1]] = " " lines[i] " "
            count = split(ENVIRON["HOMES"], lines, "\n")
            for (i = 1; i <= count; i++)
                if (split(lines[i], words, " ") > 0) home[words[1]] = " " substr(lines[i], length(words[1]) + 1) " "
        }
        FNR == 1 {
            file = substr(FILENAME, length(ENVIRON["TREE"]) + 1)
            parts = split(file, path, "/")
            folder = path[1] == "cli" ? "cli" : parts == 2 ? "shell" : path[2]
            if (!(folder in allowed)) print file " is in a folder that no arrow names"
        }
        /^#include "[a-z_]*\// {
            split($2, name, /["\/]/)
            if (!index(allowed[folder], " " name[2] " ")) print file " (" folder ") includes " name[2] "/"
        }
        /^#include </ {
            header = substr($2, 2, length($2) - 2)
            for (library in home)
                if (index(header, library) == 1 && !index(home[library], " " folder " "))
                    print file " (" folder ") includes <" header ">"
            if (index(ENVIRON["PURE"], " " folder " ") && header ~ ENVIRON["WORLDLY"])
                print file " is in a pure folder and asks the world"
        }'
}

ok() { # ok STATUS NAME
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}

found=$(offences "$top")
[ -z "$found" ]
ok $? 'every include follows an arrow'
[ -z "$found" ] || echo "$found" | sed 's/^/# /'

# A check that finds nothing may be blind: each kind of offence, planted in a copy, is found.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$top/daemon" "$top/cli" "$copy/"
chmod -R u+w "$copy"
planted() { # planted FILE LINE NAME
    cp "$copy/$1" "$copy/before"
    echo "$2" >>"$copy/$1"
    [ "$(offences "$copy" | grep -c "^$1")" -eq 1 ]
    ok $? "$3"
    mv "$copy/before" "$copy/$1"
}
planted daemon/core/core.c '#include "store/store.h"' 'an include that points up is found'
planted daemon/net/link.c '#include "vault/vault.h"' 'neighbours that meet are found'
planted daemon/engine/run.c '#include "core/core.h"' 'a simulator that looks at the core is found'
planted daemon/core/core.c '#include <sqlite3.h>' 'a library away from home is found'
planted daemon/core/core.c '#include <time.h>' 'a clock in a pure folder is found'
echo "1..$number"
