package io.jccl.topology;

import java.math.BigInteger;

/** Processor masks as the kernel writes them: hexadecimal, in groups of 32 bits with commas between. */
final class CpuMask {

    private CpuMask() {}

    static boolean isValid(String mask) {
        if (mask.length() > AttributeRule.MAX_LENGTH) {
            return false;
        }
        for (String group : mask.split(",", -1)) {
            if (!Ascii.isHex(group, 0, group.length())) {
                return false;
            }
        }
        return true;
    }

    /** Whether a mask names a processor at all. */
    static boolean isAny(String mask) {
        return isValid(mask) && parse(mask).signum() != 0;
    }

    /** Whether two masks share a processor; a mask that cannot be read shares none. */
    static boolean intersects(String one, String other) {
        return isValid(one) && isValid(other) && parse(one).and(parse(other)).signum() != 0;
    }

    /** The processors that this process may be scheduled on; empty where the kernel does not say. */
    static String ofThisProcess(SystemFiles files) {
        for (String line : files.lines("proc/self/status")) {
            String mask = line.substring(line.indexOf(':') + 1).strip();
            if (line.startsWith("Cpus_allowed:") && isValid(mask)) {
                return mask;
            }
        }
        return "";
    }

    /** Groups after the first are 32 bits, even where leading zeros were left out. */
    static BigInteger parse(String mask) {
        BigInteger value = BigInteger.ZERO;
        for (String group : mask.split(",")) {
            value = value.shiftLeft(32).or(new BigInteger(group, 16));
        }
        return value;
    }
}
