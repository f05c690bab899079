# Writes GGUF files byte by byte, for files that no program of ours would write.

# A number of $2 in $1 bytes, lowest first.
gguf_number() {
    local i text=
    for ((i = 0; i < $1; i++)); do text+=$(printf '\\x%02x' $(($2 >> (8 * i) & 255))); done
    printf "$text"
}

gguf_string() {
    local LC_ALL=C
    gguf_number 8 ${#1}
    printf '%s' "$1"
}

# Numbers of tensors and of key-value pairs.
gguf_head() {
    printf 'GGUF'
    gguf_number 4 3
    gguf_number 8 "$1"
    gguf_number 8 "$2"
}

# A key and the type of its value: 4 u32, 7 bool, 8 string, 9 array.
gguf_key() {
    gguf_string "$1"
    gguf_number 4 "$2"
}

gguf_strings() {
    local s
    gguf_number 4 8
    gguf_number 8 $#
    for s in "$@"; do gguf_string "$s"; done
}

gguf_u32s() {
    local n
    gguf_number 4 5
    gguf_number 8 $#
    for n in "$@"; do gguf_number 4 "$n"; done
}

# Name, offset and dimensions (innermost first) of an F32 tensor; of another type in $gguf_type.
gguf_tensor() {
    local n
    gguf_string "$1"
    gguf_number 4 $(($# - 2))
    for n in "${@:3}"; do gguf_number 8 "$n"; done
    gguf_number 4 "${gguf_type:-0}"
    gguf_number 8 "$2"
}

# Zeros up to a multiple of 32 bytes, in a file that standard output is.
gguf_fill() {
    local n
    { n=$(stat -L -c %s /proc/self/fd/3); } 3>&1
    head -c $(((32 - n % 32) % 32)) /dev/zero
}
