#!/usr/bin/env bash
# sanitize.sh address|thread [PATTERN]: runs the host device's tests with kernels that check
# themselves, and ends at the first fault. address finds accesses outside of memory and undefined
# behaviour, with the vectors of a CPU without SSE2 beside AVX2 and AVX-512. thread finds data
# races among the device's threads. With PATTERN only those tests run.
set -euo pipefail
# As a compiler it adds a flag behind the package's: -O3 takes minutes with checks.
if [ "${1:-}" = cc ]; then exec gcc "${@:2}" -O1 -w; fi
cd "$(dirname "$0")/.."
pictures='/^(lights|cut-outs|one_pixel)$'
case "${1:-}" in
  address)
    # A null pointer, and an object that is too small, are met as an access: compiling takes
    # three quarters of the time without these checks.
    export CGO_CFLAGS="-g1 -U__SSE2__ -fsanitize=address,undefined -fno-sanitize=null,object-size -fno-sanitize-recover=all"
    export CGO_LDFLAGS="-fsanitize=address,undefined" SANITIZER=asan ;;
  thread)
    export CGO_CFLAGS="-g1 -fsanitize=thread" CGO_LDFLAGS="-fsanitize=thread" SANITIZER=tsan
    export TSAN_OPTIONS="halt_on_error=1 ${TSAN_OPTIONS:-}" ;;
  *) echo "sanitize.sh: say address or thread" >&2; exit 2 ;;
esac
export CC="$PWD/scripts/sanitize.sh cc"
if ! gcc $CGO_LDFLAGS -x c -o /dev/null - <<<'int main(void) { return 0; }'; then
  echo "sanitize.sh: gcc has no libraries for $CGO_LDFLAGS: install those of its version, Debian has lib$SANITIZER" >&2
  exit 1
fi
go test -count=1 -short -run "${2:-SameBits|BitsDependOnNothing|SurvivesOdd|InOrder|ClearAndWrite|Mipmaps|FailsItsFence}" ./gpu/hostdev
go test -count=1 -run "${2:-^TestHostPicturesAreTheSameBytes\$$pictures}" ./sensors/camera
