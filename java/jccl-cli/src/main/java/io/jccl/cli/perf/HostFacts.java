package io.jccl.cli.perf;

import io.jccl.cli.topo.ThisHost;

/**
 * The host that a rank runs on, as far as times depend on it.
 *
 * @param name of the host
 * @param kernel the operating system with its release
 * @param processor the model, or the architecture where the kernel names no model
 * @param cores that this process may use
 */
record HostFacts(String name, String kernel, String processor, int cores) {

    /** This host. */
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

    /** For example {@code node1: Linux 6.1, Intel Xeon, 2 cores}. */
    String text() {
        return name + ": " + kernel + ", " + processor + ", " + cores + (cores == 1 ? " core" : " cores");
    }
}
