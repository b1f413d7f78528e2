package io.jccl.cli.doctor;

import java.util.List;

/** One check of the host. */
@FunctionalInterface
interface Check {

    /** Runs the check; returns several findings if there is more than one thing to report. */
    List<Finding> examine(Host host);
}
