package io.jccl.init;

import io.jccl.planning.CommunicatorPlan;
import io.jccl.planning.PlanningOptions;
import io.jccl.tuning.CollNetTraits;
import java.util.Optional;

/**
 * What the ranks have decided once host memory is connected.
 *
 * @param plan rings, trees and choices
 * @param options the options that the plan was made with
 * @param collNet the traits of CollNet for host memory; empty if it is not used
 */
record Decisions(CommunicatorPlan plan, PlanningOptions options, Optional<CollNetTraits> collNet) {}
