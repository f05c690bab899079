/*
 * Expected values of test_llama_cpp_draw.c, drawn by libstdc++'s <random> in the loops that
 * llama.cpp's perplexity tool documents for --hellaswag-tasks and --winogrande-tasks.
 *
 *     g++ -O1 llama_cpp_draws.cpp -o draws && ./draws > ../expected_llama_cpp_draws.h
 */
#include <cstdio>
#include <random>
#include <vector>

static void print(const char *kind, unsigned n, unsigned count, const std::vector<int> &drawn)
{
    std::printf("    {%s, %u, %u, {", kind, n, count);
    for (unsigned i = 0; i < count; i++)
        std::printf("%s%d", i ? ", " : "", drawn[i]);
    std::printf("}},\n");
}

static std::vector<int> numbers(unsigned n)
{
    std::vector<int> all(n);
    for (unsigned i = 0; i < n; i++)
        all[i] = (int)i;
    return all;
}

static std::vector<int> hellaswag(unsigned n, unsigned count)
{
    std::mt19937 rng(1);
    std::vector<int> left = numbers(n), drawn;
    while (drawn.size() < count) {
        std::uniform_int_distribution<size_t> position(0, left.size() - 1);
        size_t at = position(rng);
        drawn.push_back(left[at]);
        left.erase(left.begin() + (long)at);
    }
    return drawn;
}

static std::vector<int> winogrande(unsigned n, unsigned count)
{
    std::mt19937 rng(1);
    std::vector<int> left = numbers(n), drawn;
    const float scale = 1 / (1.f + (float)rng.max());
    while (drawn.size() < count) {
        int at = int(scale * rng() * left.size());
        drawn.push_back(left[(size_t)at]);
        left[(size_t)at] = left.back();
        left.pop_back();
    }
    return drawn;
}

int main()
{
    std::printf("/* Written by make/llama_cpp_draws.cpp: libstdc++ %d. */\n"
                "#ifndef EVAL_TESTS_EXPECTED_LLAMA_CPP_DRAWS_H\n"
                "#define EVAL_TESTS_EXPECTED_LLAMA_CPP_DRAWS_H\n\n"
                "#include <stddef.h>\n#include <stdint.h>\n\n"
                "static const struct draw_case {\n    enum { HELLASWAG, WINOGRANDE } kind;\n"
                "    size_t n, count;\n    size_t drawn[40];\n} draw_cases[] = {\n",
                __GLIBCXX__);
    for (unsigned n : {1u, 2u, 40u, 1267u, 10042u}) {
        const unsigned count = n < 40 ? n : 40;
        print("HELLASWAG", n, count, hellaswag(n, count));
        print("WINOGRANDE", n, count, winogrande(n, count));
    }
    std::mt19937 rng(1);
    rng.discard(999);
    std::printf("};\n\nstatic const uint32_t thousandth = %luu;\n\n#endif\n", (unsigned long)rng());
}
