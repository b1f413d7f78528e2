package io.jccl.cli.doctor;

import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Measures how busy other processes keep a host: doctor reports it, and commands that measure warn of it. The check
 * takes a sample of 300 ms, because the kernel's averages still contain this user's own earlier runs.
 */
public final class HostLoad {

    private static final String NAME = "load";
    private static final long SAMPLE_NANOS = TimeUnit.MILLISECONDS.toNanos(300);
    private static final double MAX_MISSING = 0.3; // in processors; background services usually use less than this
    private static final double MAX_PRESSURE = 0.2; // share of the time in which some task waits for a processor
    private static final double SHOWN_STEAL = 0.05;
    private static final Pattern WAITED = Pattern.compile("(?m)^some .*total=(\\d+)");
    private static final Pattern AVERAGE = Pattern.compile("^\\d+\\.\\d+");

    private HostLoad() {}

    /**
     * Returns a warning, with its remedy, for commands that measure on this host; empty if other processes use little
     * of it.
     */
    public static Optional<String> warning() {
        Finding finding = check(Host.here(0));
        return Optional.ofNullable(finding.remedy()).map(remedy -> finding.detail() + "; " + remedy);
    }

    static Finding check(Host host) {
        return check(host, HostLoad::pause, System::nanoTime);
    }

    private static void pause() {
        long end = System.nanoTime() + SAMPLE_NANOS;
        for (long left = SAMPLE_NANOS;
                left > 0 && !Thread.currentThread().isInterrupted();
                left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /**
     * @param pause waits while the check takes its sample
     * @param clock returns the time in nanoseconds
     */
    static Finding check(Host host, Runnable pause, LongSupplier clock) {
        Optional<ProcessorTimes> before = ProcessorTimes.read(host);
        long waitedBefore = waitedMicros(host);
        long begin = clock.getAsLong();
        pause.run();
        Optional<ProcessorTimes> after = ProcessorTimes.read(host);
        if (before.isEmpty() || after.isEmpty()) {
            return Finding.ok(NAME, "not visible here");
        }
        double micros = Math.max(1, (clock.getAsLong() - begin) / 1e3);
        double pressure = waitedBefore < 0 ? 0 : Math.max(0, waitedMicros(host) - waitedBefore) / micros;
        int processors = after.get().processors();
        double busy = after.get().busySince(before.get());
        double stolen = after.get().stolenSince(before.get());
        double wanted = Math.min(host.ranks(), Math.min(processors, ProcessorChecks.tightestQuota(host)));
        double missing = wanted - (processors - busy);
        boolean waits = wanted >= processors && pressure >= MAX_PRESSURE;
        String seen = String.format(
                        Locale.ROOT, "processors=%d, wanted=%.1f, used by others=%.1f", processors, wanted, busy)
                + (stolen >= SHOWN_STEAL ? String.format(Locale.ROOT, ", taken by the hypervisor=%.1f", stolen) : "")
                + (waitedBefore < 0
                        ? ""
                        : String.format(Locale.ROOT, ", tasks wait %.0f %% of the time", 100 * pressure))
                + average(host);
        if (missing <= MAX_MISSING && !waits) {
            return Finding.ok(NAME, seen);
        }
        return Finding.warn(
                NAME,
                seen + ": ranks wait for processors, so operations take longer and times vary",
                stolen > busy / 2
                        ? "use a host whose processors are this virtual machine's own"
                        : "end or move the other work (top shows it), or give ranks processors of their own (cpuset)");
    }

    /** Returns the time in µs for which some task has waited for a processor; -1 if the kernel does not report it. */
    private static long waitedMicros(Host host) {
        Matcher waited = WAITED.matcher(host.read("/proc/pressure/cpu").orElse(""));
        return waited.find() ? Long.parseLong(waited.group(1)) : -1;
    }

    private static String average(Host host) {
        return host.read("/proc/loadavg")
                .map(AVERAGE::matcher)
                .filter(Matcher::find)
                .map(match -> ", load average=" + match.group())
                .orElse("");
    }
}
