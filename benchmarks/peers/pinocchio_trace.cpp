// Pinocchio's algorithms run on CasADi's symbols, for models handed over as plain arrays, and written as C.
#include <pinocchio/autodiff/casadi.hpp>

#include "pinocchio_model.hpp"
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

using ::casadi::SX;
using Symbols = Eigen::Matrix<SX, Eigen::Dynamic, 1>;

static Symbols symbols(const SX &x) {
  Symbols out(x.rows());
  for (casadi_int k = 0; k < x.rows(); ++k) out[k] = x(k);
  return out;
}

// A tree as in pinocchio_model.hpp. way: 2 aba, 3 rnea; a function of that name goes into NAME.c in the folder.
extern "C" void trace(int way, const char *name, const char *folder, int joints, const char *kinds, const int *parents,
                      const double *placements, const double *inertias, const double *gravity) {
  const ModelTpl<SX> model = tree(joints, kinds, parents, placements, inertias, gravity).cast<SX>();
  DataTpl<SX> data(model);
  const SX q = SX::sym("q", model.nq), v = SX::sym("v", model.nv), x = SX::sym("x", model.nv);
  if (way == 2) aba(model, data, symbols(q), symbols(v), symbols(x), Convention::LOCAL);
  else rnea(model, data, symbols(q), symbols(v), symbols(x));
  SX out(model.nv, 1);
  for (int k = 0; k < model.nv; ++k) out(k) = way == 2 ? data.ddq[k] : data.tau[k];
  const ::casadi::Function function(name, {q, v, x}, {out}, {{"cse", true}});
  ::casadi::CodeGenerator generator(std::string(name) + ".c");
  generator.add(function);
  generator.generate(std::string(folder) + "/");
}
