package io.jccl.cli.doctor;

import java.util.Locale;

/**
 * What one check found.
 *
 * @param check the name of the check
 * @param status how bad it is
 * @param detail what was seen
 * @param remedy what to do about it; null if all is well
 */
record Finding(String check, Status status, String detail, String remedy) {

    /** How bad a finding is, from best to worst. */
    enum Status {
        /** As it should be. */
        OK,
        /** Works, but slower or less safely than it could. */
        WARN,
        /** JCCL does not work like this. */
        FAIL;

        String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    static Finding ok(String check, String detail) {
        return new Finding(check, Status.OK, detail, null);
    }

    static Finding warn(String check, String detail, String remedy) {
        return new Finding(check, Status.WARN, detail, remedy);
    }

    static Finding fail(String check, String detail, String remedy) {
        return new Finding(check, Status.FAIL, detail, remedy);
    }
}
