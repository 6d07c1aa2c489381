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

files_of() { # files_of TREE FOLDER
    case $2 in
    shell) find "$1/daemon" -maxdepth 1 -name '*.[ch]' ;;
    cli) find "$1/cli" -maxdepth 1 -name '*.[ch]' ;;
    *) find "$1/daemon/$2" -name '*.[ch]' ;;
    esac
}

# offences TREE: a line for each include that must not be.
offences() {
    echo "$arrows" | while read -r folder allowed; do
        [ -n "$folder" ] || continue
        files_of "$1" "$folder" | while read -r file; do
            sed -n 's/^#include "\([a-z_]*\)\/.*/\1/p' "$file" | sort -u | while read -r included; do
                case " $allowed $folder " in *" $included "*) continue ;; esac
                echo "${file#"$1"/} ($folder) includes $included/"
            done
            echo "$homes" | while read -r header home; do
                [ -n "$header" ] || continue
                case " $home " in *" $folder "*) continue ;; esac
                if grep -q "^#include <$header" "$file"; then
                    echo "${file#"$1"/} ($folder) includes <$header>"
                fi
            done
        done
    done
    for folder in $pure; do
        files_of "$1" "$folder" | xargs grep -lE "^#include <($worldly)>" |
            sed "s|^$1/||; s/\$/ is in a pure folder and asks the world/"
    done
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
