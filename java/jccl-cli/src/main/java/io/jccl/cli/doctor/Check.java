package io.jccl.cli.doctor;

import java.util.List;

/** One question to the machine. */
@FunctionalInterface
interface Check {

    /** Answers it; several findings if there is more than one thing to say. */
    List<Finding> examine(Machine machine);
}
