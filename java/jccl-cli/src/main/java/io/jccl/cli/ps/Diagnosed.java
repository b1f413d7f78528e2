package io.jccl.cli.ps;

import java.util.List;

/**
 * A communicator and what is wrong with it.
 *
 * @param sample the last one
 * @param findings the worst first
 */
record Diagnosed(CommunicatorSample sample, List<Finding> findings) {

    Diagnosed {
        findings = List.copyOf(findings);
    }
}
