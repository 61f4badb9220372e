// A tree of Pinocchio made of plain arrays.
#pragma once
#include <pinocchio/multibody.hpp>

using namespace pinocchio;
using Rows = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;

static SE3 pose(const double *x) {
  return SE3(Eigen::Map<const Rows>(x), Eigen::Map<const Eigen::Vector3d>(x + 9));
}

static JointModel joint(char kind) {
  switch (kind) {
    case 'x': return JointModelRX();
    case 'y': return JointModelRY();
    case 'z': return JointModelRZ();
    case 'p': return JointModelPZ();
    default: return JointModelSpherical();
  }
}

// kinds: a letter a joint; placements: 12 numbers a joint; inertias: mass, center of mass, tensor about it, 13 a joint.
static Model tree(int joints, const char *kinds, const int *parents, const double *placements, const double *inertias,
                  const double *gravity) {
  Model model;
  model.gravity.linear() = Eigen::Map<const Eigen::Vector3d>(gravity);
  for (int k = 0; k < joints; ++k) {
    const auto id = model.addJoint(parents[k], joint(kinds[k]), pose(placements + 12 * k), std::to_string(k));
    const double *i = inertias + 13 * k;
    const Inertia inertia(i[0], Eigen::Map<const Eigen::Vector3d>(i + 1), Eigen::Map<const Rows>(i + 4));
    model.appendBodyToJoint(id, inertia, SE3::Identity());
  }
  return model;
}
