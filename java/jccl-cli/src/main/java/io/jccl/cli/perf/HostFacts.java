package io.jccl.cli.perf;

import io.jccl.cli.topo.ThisHost;

/**
 * The facts about a rank's host on which times depend.
 *
 * @param name name of the host
 * @param kernel the operating system with its release
 * @param processor model of the processor, or the architecture if the kernel names no model
 * @param cores number of processors that this process may use
 */
record HostFacts(String name, String kernel, String processor, int cores) {

    /** Returns the facts about this host. */
    static HostFacts here() {
        return new HostFacts(
                hostName(),
                System.getProperty("os.name") + " " + System.getProperty("os.version"),
                ThisHost.processor(),
                Runtime.getRuntime().availableProcessors());
    }

    static String hostName() {
        return ThisHost.name().orElse("localhost");
    }

    /** Returns a text such as {@code node1: Linux 6.1, Intel Xeon, 2 cores}. */
    String text() {
        return name + ": " + kernel + ", " + processor + ", " + cores + (cores == 1 ? " core" : " cores");
    }
}
