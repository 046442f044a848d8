#!/bin/sh
# Makes the secrets of a NATS for sweeps in the folder DIR: a certificate with its authority, and the keys of two users,
# the coordinator and the workers. docs/sweep.md says where they go.
#
#   deploy/nats-secrets.sh DIR [NAME...]
#
# The certificate is good for the names in deploy/, and for each NAME, such as nats.example.org. It needs openssl, and nk:
#
#   go install github.com/nats-io/nkeys/nk@v0.4.16
#
# DIR is made. ca.key signs further certificates: keep it, and give it to nobody.
set -eu
umask 077
dir=${1:?give the folder for the secrets}
shift
command -v nk >/dev/null || { echo "nk is missing: go install github.com/nats-io/nkeys/nk@v0.4.16" >&2; exit 1; }
mkdir "$dir"
cd "$dir"

# The servers' names for clients, and for each other. Each server is a client of the others, too.
names="DNS:nats, DNS:*.nats-nodes, DNS:localhost, IP:127.0.0.1"
for name in "$@"; do names="$names, DNS:$name"; done
cat >extensions <<END
subjectAltName = $names
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
END
key="-algorithm EC -pkeyopt ec_paramgen_curve:P-256"
# shellcheck disable=SC2086 # several words
{
  openssl genpkey $key -out ca.key
  openssl req -x509 -new -key ca.key -days 3650 -subj "/CN=raybridge sweep" -out ca.crt
  openssl genpkey $key -out tls.key
  openssl req -new -key tls.key -subj "/CN=nats" -out request
  openssl x509 -req -in request -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -extfile extensions -out tls.crt
} 2>log || { cat log >&2; exit 1; }
rm -f extensions request log ca.srl

# A user's seed is secret; what the server knows is public.
for user in coordinator worker; do
  nk -gen user -pubout >pair
  sed -n 1p pair >"$user.nk"
  echo "NATS_$(echo "$user" | tr '[:lower:]' '[:upper:]')=$(sed -n 2p pair)" >>users.env
  rm pair
done
