package io.jccl.cli.perf;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The host that a rank runs on, as far as times depend on it.
 *
 * @param name of the host
 * @param kernel the operating system with its release
 * @param processor the model, or the architecture where the kernel names no model
 * @param cores that this process may use
 */
record HostFacts(String name, String kernel, String processor, int cores) {

    private static final Pattern MODEL = Pattern.compile("(?m)^(?:model name|Model|cpu model)\\s*:[ \\t]*(\\S.*)$");

    /** This host. */
    static HostFacts here() {
        return new HostFacts(
                hostName(),
                System.getProperty("os.name") + " " + System.getProperty("os.version"),
                read("/proc/cpuinfo").flatMap(HostFacts::model).orElseGet(() -> System.getProperty("os.arch")),
                Runtime.getRuntime().availableProcessors());
    }

    static String hostName() {
        return read("/proc/sys/kernel/hostname").orElse("localhost");
    }

    /** The processor's model in the text of {@code /proc/cpuinfo}; 64-bit ARM has none there. */
    static Optional<String> model(String cpuinfo) {
        Matcher matcher = MODEL.matcher(cpuinfo);
        return matcher.find() ? Optional.of(matcher.group(1).strip().replaceAll("\\s+", " ")) : Optional.empty();
    }

    /** For example {@code node1: Linux 6.1, Intel Xeon, 2 cores}. */
    String text() {
        return name + ": " + kernel + ", " + processor + ", " + cores + (cores == 1 ? " core" : " cores");
    }

    private static Optional<String> read(String file) {
        try {
            return Optional.of(Files.readString(Path.of(file)).strip()).filter(text -> !text.isEmpty());
        } catch (IOException e) {
            return Optional.empty(); // not Linux, or hidden by a container
        }
    }
}
