package io.jccl.tuning;

/** What {@code JCCL_LL128} says about the protocol LL128 between GPUs. */
public enum Ll128 {
    /** Never. */
    OFF,
    /** Where lines are known to arrive whole. */
    AUTO,
    /** Everywhere, although lines may be torn on the way. */
    FORCE
}
