/* Written by make/yaml_scalar_cases.py. */
#define SCALARS                                                                                    \
    {"~", YAML_NULL, 0}, {"null", YAML_NULL, 0}, {"Null", YAML_NULL, 0}, {"NULL", YAML_NULL, 0},   \
        {"nULL", YAML_STRING, 0}, {"yes", YAML_BOOL, 1}, {"Yes", YAML_BOOL, 1},                    \
        {"YES", YAML_BOOL, 1}, {"no", YAML_BOOL, 0}, {"No", YAML_BOOL, 0}, {"NO", YAML_BOOL, 0},   \
        {"on", YAML_BOOL, 1}, {"On", YAML_BOOL, 1}, {"ON", YAML_BOOL, 1}, {"off", YAML_BOOL, 0},   \
        {"Off", YAML_BOOL, 0}, {"OFF", YAML_BOOL, 0}, {"true", YAML_BOOL, 1},                      \
        {"True", YAML_BOOL, 1}, {"TRUE", YAML_BOOL, 1}, {"false", YAML_BOOL, 0},                   \
        {"False", YAML_BOOL, 0}, {"FALSE", YAML_BOOL, 0}, {"y", YAML_STRING, 0},                   \
        {"n", YAML_STRING, 0}, {"0", YAML_INT, 0}, {"1", YAML_INT, 1}, {"-1", YAML_INT, -1},       \
        {"+5", YAML_INT, 5}, {"007", YAML_OTHER, 0}, {"08", YAML_STRING, 0},                       \
        {"0x1F", YAML_OTHER, 0}, {"0b11", YAML_OTHER, 0}, {"1_000", YAML_OTHER, 0},                \
        {"1:30", YAML_OTHER, 0}, {"12", YAML_INT, 12}, {"1.5", YAML_REAL, 1.5},                    \
        {"-0.25", YAML_REAL, -0.25}, {".5", YAML_REAL, 0.5}, {"1.", YAML_REAL, 1.0},               \
        {"1e3", YAML_STRING, 0}, {"1.0e+3", YAML_REAL, 1000.0}, {"1.5e3", YAML_STRING, 0},         \
        {"1.5E-2", YAML_REAL, 0.015}, {".inf", YAML_OTHER, 0}, {"-.Inf", YAML_OTHER, 0},           \
        {".nan", YAML_OTHER, 0}, {"2001-12-14", YAML_OTHER, 0}, {"a", YAML_STRING, 0},             \
        {"a-1", YAML_STRING, 0}, {"1a", YAML_STRING, 0}, {"-a", YAML_STRING, 0},                   \
        {"1.2.3", YAML_STRING, 0}, {"1,000", YAML_STRING, 0}, {"A", YAML_STRING, 0},               \
        {"9223372036854775807", YAML_INT, 9.223372036854776e+18}, {"=", YAML_OTHER, 0},            \
    {                                                                                              \
        "=a", YAML_STRING, 0                                                                       \
    }
