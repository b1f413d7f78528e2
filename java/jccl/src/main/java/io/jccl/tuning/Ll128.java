package io.jccl.tuning;

/** The values of {@code JCCL_LL128}: when the protocol LL128 may be used between GPUs. */
public enum Ll128 {
    /** Never. */
    OFF,
    /** On links where lines are known to arrive whole. */
    AUTO,
    /** Always, although a link may tear lines. */
    FORCE
}
