#define MATCH(a, b) (((a) + (b)) == 3 ? 1 : 0)
#define MAX(a, b) (((a) >= (b)) ? (a) : (b))

// How an RNA folds: the most pairs of bases that a piece of the sequence can have.
void nussinov(int n, char seq[n], int table[n][n]) {
#pragma scop
  for (int i = n - 1; i >= 0; i--) {
    for (int j = i + 1; j < n; j++) {
      if (j - 1 >= 0) table[i][j] = MAX(table[i][j], table[i][j - 1]);
      if (i + 1 < n) table[i][j] = MAX(table[i][j], table[i + 1][j]);
      if (j - 1 >= 0 && i + 1 < n) {
        // Neighbours do not pair.
        if (i < j - 1)
          table[i][j] = MAX(table[i][j], table[i + 1][j - 1] + MATCH(seq[i], seq[j]));
        else
          table[i][j] = MAX(table[i][j], table[i + 1][j - 1]);
      }
      for (int k = i + 1; k < j; k++) table[i][j] = MAX(table[i][j], table[i][k] + table[k + 1][j]);
    }
  }
#pragma endscop
}
