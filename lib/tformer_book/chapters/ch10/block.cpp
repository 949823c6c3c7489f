// A pre-norm block with one head, GELU in its tanh form, and no mask: the sizes, the seed and the
// order of the draws are those of the listing "Minimal Transformer Block" of Transformer Theory.
// The program is the book's own. It prints its input and its output, each number in full.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <vector>

using Table = std::vector<std::vector<double>>;

static Table zeros(std::size_t n, std::size_t m) { return Table(n, std::vector<double>(m)); }

static Table drawn(std::size_t n, std::size_t m, double spread, std::mt19937 &rng) {
    std::normal_distribution<double> normal(0.0, spread);
    Table w = zeros(n, m);
    for (auto &row : w)
        for (double &entry : row) entry = normal(rng);
    return w;
}

static Table times(const Table &a, const Table &b, bool turned = false) {
    std::size_t inner = a[0].size(), m = turned ? b.size() : b[0].size();
    Table c = zeros(a.size(), m);
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < m; ++j)
            for (std::size_t k = 0; k < inner; ++k) c[i][j] += a[i][k] * (turned ? b[j][k] : b[k][j]);
    return c;
}

static Table plus(Table a, const Table &b) {
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < a[0].size(); ++j) a[i][j] += b[i][j];
    return a;
}

static Table normed(Table x) {
    for (auto &row : x) {
        double mean = 0, square = 0, d = static_cast<double>(row.size());
        for (double entry : row) mean += entry / d;
        for (double entry : row) square += (entry - mean) * (entry - mean) / d;
        for (double &entry : row) entry = (entry - mean) / std::sqrt(square + 1e-5);
    }
    return x;
}

static Table softmax(Table scores) {
    for (auto &row : scores) {
        double total = 0, largest = row[0];
        for (double entry : row) largest = std::fmax(largest, entry);
        for (double &entry : row) total += entry = std::exp(entry - largest);
        for (double &entry : row) entry /= total;
    }
    return scores;
}

static Table attention(const Table &q, const Table &k, const Table &v) {
    Table scores = times(q, k, true);
    for (auto &row : scores)
        for (double &entry : row) entry /= std::sqrt(static_cast<double>(q[0].size()));
    return times(softmax(scores), v);
}

static Table gelu(Table x) {
    const double factor = std::sqrt(2.0 / std::acos(-1.0));
    for (auto &row : x)
        for (double &t : row) t = 0.5 * t * (1 + std::tanh(factor * (t + 0.044715 * t * t * t)));
    return x;
}

static void print(const char *name, const Table &x) {
    for (const auto &row : x) {
        std::printf("%s", name);
        for (double entry : row) std::printf(" %.17g", entry);
        std::printf("\n");
    }
}

int main() {
    const std::size_t words = 4, d = 8, d_ff = 32;
    std::mt19937 rng(42);
    Table x = drawn(words, d, 1.0, rng);
    for (auto &row : x)
        for (double &entry : row) entry *= 0.1;
    const double narrow = 1 / std::sqrt(static_cast<double>(d));
    Table q = drawn(d, d, narrow, rng), k = drawn(d, d, narrow, rng), v = drawn(d, d, narrow, rng);
    Table o = drawn(d, d, narrow, rng), in = drawn(d, d_ff, narrow, rng);
    Table out = drawn(d_ff, d, 1 / std::sqrt(static_cast<double>(d_ff)), rng);
    Table n = normed(x);
    Table y = plus(x, times(attention(times(n, q), times(n, k), times(n, v)), o));
    y = plus(y, times(gelu(times(normed(y), in)), out));
    print("x", x);
    print("y", y);
}
