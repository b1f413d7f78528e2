package io.jccl.cli.doctor;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;

/**
 * Times of the processors that this process may run on, since the host started, in the kernel's ticks. Each time is the
 * sum over these processors.
 *
 * @param processors number of these processors
 * @param total all time
 * @param idle the part in which they did nothing
 * @param stolen the part that the hypervisor gave to other virtual machines
 * @param own the part that this process used
 */
record ProcessorTimes(int processors, long total, long idle, long stolen, long own) {

    private static final Pattern ALLOWED = Pattern.compile("(?m)^Cpus_allowed:\\s*([0-9a-fA-F,]+)$");
    private static final Pattern PROCESSOR = Pattern.compile("(?m)^cpu(\\d+)((?: \\d+){8,})");

    // Columns of /proc/stat. The columns after the steal time are parts of earlier columns.
    private static final int IDLE = 3;
    private static final int IO_WAIT = 4;
    private static final int STEAL = 7;

    // Columns of /proc/self/stat after the name in parentheses.
    private static final int USER_TIME = 11;
    private static final int SYSTEM_TIME = 12;

    /** Reads the current times; empty if the host does not show them. */
    static Optional<ProcessorTimes> read(Host host) {
        Optional<BigInteger> allowed = host.read("/proc/self/status")
                .map(ALLOWED::matcher)
                .filter(Matcher::find)
                .map(match -> new BigInteger(match.group(1).replace(",", ""), 16)); // a comma every 8 digits
        int processors = 0;
        long total = 0;
        long idle = 0;
        long stolen = 0;
        Matcher line = PROCESSOR.matcher(host.read("/proc/stat").orElse(""));
        while (line.find()) {
            int number = Integer.parseInt(line.group(1));
            if (allowed.isEmpty() || allowed.get().testBit(number)) {
                long[] ticks = Arrays.stream(line.group(2).trim().split(" "))
                        .mapToLong(Long::parseLong)
                        .limit(STEAL + 1)
                        .toArray();
                processors++;
                total += LongStream.of(ticks).sum();
                idle += ticks[IDLE] + ticks[IO_WAIT];
                stolen += ticks[STEAL];
            }
        }
        return processors == 0
                ? Optional.empty()
                : Optional.of(new ProcessorTimes(processors, total, idle, stolen, ownTicks(host)));
    }

    private static long ownTicks(Host host) {
        String stat = host.read("/proc/self/stat").orElse("");
        String[] fields = stat.substring(stat.lastIndexOf(')') + 1).trim().split(" ");
        return fields.length > SYSTEM_TIME
                ? Long.parseLong(fields[USER_TIME]) + Long.parseLong(fields[SYSTEM_TIME])
                : 0;
    }

    /** Returns the average number of processors that others have kept busy since an earlier reading. */
    double busySince(ProcessorTimes before) {
        long busy = total - idle - own - (before.total - before.idle - before.own);
        return perProcessor(Math.max(0, busy), before);
    }

    /** Returns the part of {@link #busySince} that the hypervisor gave to other virtual machines. */
    double stolenSince(ProcessorTimes before) {
        return perProcessor(Math.max(0, stolen - before.stolen), before);
    }

    private double perProcessor(long ticks, ProcessorTimes before) {
        long passed = total - before.total;
        return passed <= 0 ? 0 : (double) ticks * processors / passed;
    }
}
