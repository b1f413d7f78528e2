package io.jccl.tuning;

/** What {@code JCCL_LL128} says about the protocol LL128 between GPUs. */
public enum Ll128 {
    /** Never. */
    OFF,
    /** Where lines are known to arrive whole. */
    AUTO,
    /** Everywhere, although a link may tear lines. */
    FORCE
}
