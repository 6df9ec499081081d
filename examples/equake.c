// A step of a finite-element simulation in the shape of SPEC's equake, as equake.twill has it: a while loop over the
// neighbours of each node, then loops over all nodes. `twill explain examples/equake.c`: one pass over the mesh.
void equake(int n, int z, int first[n + 1], int col[z], double k[z][3][3], double m[n][3], double c[n][3],
            double now[n][3], double before[n][3], double force[n][3], double next[n][3], double v[n][3],
            double dt) {
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int a = 0; a < 3; a++) force[i][a] = 0.0;
    int e = first[i];
    while (e < first[i + 1]) {
      for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) force[i][a] += k[e][a][b] * now[col[e]][b];
      e++;
    }
  }
  for (int i = 0; i < n; i++)
    for (int a = 0; a < 3; a++)
      next[i][a] = (2 * m[i][a] * now[i][a] - (m[i][a] - 0.5 * dt * c[i][a]) * before[i][a] -
                    dt * dt * force[i][a]) /
                   (m[i][a] + 0.5 * dt * c[i][a]);
  for (int i = 0; i < n; i++)
    for (int a = 0; a < 3; a++) v[i][a] = (next[i][a] - before[i][a]) / (2 * dt);
#pragma endscop
}
