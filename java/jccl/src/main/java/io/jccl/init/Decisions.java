package io.jccl.init;

import io.jccl.planning.CommunicatorPlan;
import io.jccl.planning.PlanningOptions;

/**
 * What the ranks have decided once host memory is connected.
 *
 * @param plan rings, trees and choices
 * @param options the options that the plan was made with
 */
record Decisions(CommunicatorPlan plan, PlanningOptions options) {}
