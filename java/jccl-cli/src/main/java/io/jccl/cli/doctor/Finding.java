package io.jccl.cli.doctor;

import java.util.Locale;

/**
 * A result of one check.
 *
 * @param check name of the check
 * @param status how serious the finding is
 * @param detail the values and states that the check saw
 * @param remedy what to do about the finding; null if all is well
 */
record Finding(String check, Status status, String detail, String remedy) {

    /** How serious a finding is, from best to worst. */
    enum Status {
        /** Everything is as it should be. */
        OK,
        /** JCCL works, but slower or less safely than it could. */
        WARN,
        /** JCCL cannot work. */
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
