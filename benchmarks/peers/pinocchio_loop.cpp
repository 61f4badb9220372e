// Pinocchio's algorithms called over and over from compiled code, for models handed over as plain arrays.
#include "pinocchio_model.hpp"
#include <pinocchio/constraints.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/loop-constrained-aba.hpp>
#include <pinocchio/algorithm/proximal.hpp>
#include <pinocchio/algorithm/rnea.hpp>

using Numbers = Eigen::Map<const Eigen::VectorXd>;

struct Peer {
  Model model;
  Data data;
  PINOCCHIO_STD_VECTOR_WITH_EIGEN_ALLOCATOR(RigidConstraintModel) constraints;
  PINOCCHIO_STD_VECTOR_WITH_EIGEN_ALLOCATOR(RigidConstraintData) constraint_data;
  ProximalSettings settings;
};

extern "C" {

// A tree as in pinocchio_model.hpp; ends: two joints a loop; places: two poses of 12 numbers a loop; settings: accuracy, mu, most iterations.
// way: 0 constraintDynamics, 1 lcaba, for which what both keep in data is set up.
Peer *build(int way, int joints, const char *kinds, const int *parents, const double *placements, const double *inertias,
            const double *gravity, int loops, const int *ends, const double *places, const double *settings) {
  auto *peer = new Peer();
  Model &model = peer->model;
  model = tree(joints, kinds, parents, placements, inertias, gravity);
  peer->data = Data(model);
  for (int k = 0; k < loops; ++k) {
    const double *at = places + 24 * k;
    peer->constraints.push_back(
      RigidConstraintModel(CONTACT_3D, model, ends[2 * k], pose(at), ends[2 * k + 1], pose(at + 12)));
    peer->constraint_data.push_back(peer->constraints.back().createData());
  }
  peer->settings = ProximalSettings(settings[0], settings[1], int(settings[2]));
  if (way == 0) initConstraintDynamics(model, peer->data, peer->constraints, peer->constraint_data);
  if (way == 1) computeJointMinimalOrdering(model, peer->data, peer->constraints);
  return peer;
}

void release(Peer *peer) { delete peer; }

// way: 0 constraintDynamics, 1 lcaba, 2 aba, 3 rnea.
void repeat(Peer *peer, int way, long count, const double *q_, const double *v_, const double *x_, double *out) {
  const Model &model = peer->model;
  Data &data = peer->data;
  const Eigen::VectorXd q = Numbers(q_, model.nq), v = Numbers(v_, model.nv), x = Numbers(x_, model.nv);
  for (long k = 0; k < count; ++k) {
    switch (way) {
      case 0: constraintDynamics(model, data, q, v, x, peer->constraints, peer->constraint_data, peer->settings); break;
      case 1: lcaba(model, data, q, v, x, peer->constraints, peer->constraint_data, peer->settings); break;
      case 2: aba(model, data, q, v, x, Convention::LOCAL); break;
      default: rnea(model, data, q, v, x);
    }
  }
  Eigen::Map<Eigen::VectorXd>(out, model.nv) = way == 3 ? data.tau : data.ddq;
}

}
