package io.jccl.topology;

import java.math.BigInteger;

/** Processor masks in the kernel's notation: hexadecimal, in groups of 32 bits separated by commas. */
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

    /** Returns true if the mask is valid and contains a processor. */
    static boolean isAny(String mask) {
        return isValid(mask) && parse(mask).signum() != 0;
    }

    /** Returns true if two masks share a processor; false if one of them is invalid. */
    static boolean intersects(String one, String other) {
        return isValid(one) && isValid(other) && parse(one).and(parse(other)).signum() != 0;
    }

    /**
     * Returns the mask of the processors on which this process may be scheduled; empty if the kernel does not report
     * it.
     */
    static String ofThisProcess(SystemFiles files) {
        for (String line : files.lines("proc/self/status")) {
            String mask = line.substring(line.indexOf(':') + 1).strip();
            if (line.startsWith("Cpus_allowed:") && isValid(mask)) {
                return mask;
            }
        }
        return "";
    }

    /** Parses a mask. Groups after the first count as 32 bits, even if their leading zeros are missing. */
    static BigInteger parse(String mask) {
        BigInteger value = BigInteger.ZERO;
        for (String group : mask.split(",")) {
            value = value.shiftLeft(32).or(new BigInteger(group, 16));
        }
        return value;
    }
}
