# Words that stories use in their commands.

# until_true COMMAND…: tries again until the command succeeds; gives up after ten seconds and says so.
until_true() {
    local try
    for try in {1..200}; do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.05
    done
    echo "never true: $*"
    return 1
}

# manifest NAME: keeps what it reads as NAME.yaml, for `kubectl … -f NAME.yaml`.
manifest() { cat > "$1.yaml"; }
