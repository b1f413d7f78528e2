package io.jccl.cli.doctor;

import io.jccl.cli.doctor.Finding.Status;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Checks the cores, their clock, and limits on their use. */
final class ProcessorChecks {

    private static final String CPUS = "/sys/devices/system/cpu";
    private static final String CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    private static final List<String> FAST_CLOCKS =
            List.of("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter");

    private ProcessorChecks() {}

    static List<Finding> cores(Host host) {
        String seen = "cores=" + host.cores() + " ranks=" + host.ranks();
        return List.of(
                host.ranks() <= host.cores()
                        ? Finding.ok("cores", seen)
                        : Finding.warn(
                                "cores",
                                seen + ": ranks are time-sliced, which works but costs latency",
                                "run at most " + host.cores() + " ranks here, or give this job more cores"));
    }

    static List<Finding> governor(Host host) {
        Map<String, Integer> governors = new TreeMap<>();
        for (String cpu : host.list(CPUS)) {
            if (cpu.matches("cpu\\d+")) {
                host.read(CPUS + "/" + cpu + "/cpufreq/scaling_governor")
                        .ifPresent(governor -> governors.merge(governor, 1, Integer::sum));
            }
        }
        if (governors.isEmpty()) {
            return List.of(Finding.ok("cpu-governor", "not visible here, as usual in virtual machines and containers"));
        }
        boolean best = governors.keySet().equals(Set.of("performance"));
        return List.of(
                best
                        ? Finding.ok("cpu-governor", "performance on all cores")
                        : Finding.warn(
                                "cpu-governor",
                                "cores by governor: " + counts(governors)
                                        + "; clocks change with load, and so do times",
                                "cpupower frequency-set -g performance"));
    }

    private static String counts(Map<String, Integer> governors) {
        return governors.entrySet().stream()
                .map(one -> one.getKey() + " " + one.getValue())
                .collect(Collectors.joining(", "));
    }

    static List<Finding> clock(Host host) {
        Optional<String> source = host.read(CLOCK);
        if (source.isEmpty() || FAST_CLOCKS.contains(source.get())) {
            return List.of(Finding.ok("clock", "clocksource=" + source.orElse("unknown")));
        }
        return List.of(Finding.warn(
                "clock",
                "clocksource=" + source.get() + ": reading the time takes a system call, and "
                        + "JCCL reads it whenever it waits",
                "boot with a stable TSC (kernel parameter tsc=reliable if the hardware allows it)"));
    }

    /** Checks the smallest CPU quota of this process's control group and all groups above it. */
    static List<Finding> quota(Host host) {
        double tightest = tightestQuota(host);
        if (Double.isInfinite(tightest)) {
            return List.of(Finding.ok("cgroup-cpu", "no CPU quota"));
        }
        String seen = String.format(Locale.ROOT, "quota=%.2f cores, visible cores=%d", tightest, host.cores());
        boolean enough = tightest >= Math.min(host.cores(), host.ranks());
        return List.of(new Finding(
                "cgroup-cpu",
                enough ? Status.OK : Status.WARN,
                enough ? seen : seen + ": the kernel stops ranks in the middle of operations when the quota is used up",
                enough ? null : "raise the container's CPU limit to whole cores, or remove it and use a cpuset"));
    }

    /** Returns the smallest CPU quota that applies, in CPUs; infinity if none applies. */
    static double tightestQuota(Host host) {
        double tightest = Double.POSITIVE_INFINITY;
        for (String group : ControlGroups.directories(host, "cpu")) {
            tightest = Math.min(tightest, quota(host, group));
        }
        return tightest;
    }

    private static double quota(Host host, String group) {
        Optional<String> unified = host.read(group + "/cpu.max");
        if (unified.isPresent()) {
            String[] parts = unified.get().split("\\s+");
            return parts.length < 2 || parts[0].equals("max")
                    ? Double.POSITIVE_INFINITY
                    : Double.parseDouble(parts[0]) / Double.parseDouble(parts[1]);
        }
        double quota =
                host.read(group + "/cpu.cfs_quota_us").map(Double::parseDouble).orElse(-1.0);
        double period =
                host.read(group + "/cpu.cfs_period_us").map(Double::parseDouble).orElse(100_000.0);
        return quota > 0 ? quota / period : Double.POSITIVE_INFINITY;
    }
}
