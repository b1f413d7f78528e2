package io.jccl.cli.ps;

import io.jccl.diagnosis.CommunicatorSample;
import io.jccl.diagnosis.Finding;
import java.util.List;

/**
 * A communicator and the findings about it.
 *
 * @param sample the latest sample
 * @param findings the findings, the worst first
 */
record Diagnosed(CommunicatorSample sample, List<Finding> findings) {

    Diagnosed {
        findings = List.copyOf(findings);
    }
}
