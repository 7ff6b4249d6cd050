"""What `gpu_architectures` in base/gpu_architectures.py chooses on machines with and without GPUs."""

import os
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "base"))
import gpu_architectures  # noqa: E402

CUDA_12 = [80, 86, 87, 89, 90]
CUDA_13 = [80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121]


def chosen(wanted, here, known=tuple(CUDA_13)):
    with mock.patch.object(gpu_architectures, "known_to", return_value=[75, *known]):
        return gpu_architectures.chosen("nvcc", wanted, here)


class Choice(unittest.TestCase):
    def test_without_a_gpu_there_is_code_for_all_from_capability_8_on(self):
        self.assertEqual(chosen(["auto"], []), ["sm_80", "sm_90", "compute_90"])

    def test_gpus_of_the_machine_get_machine_code(self):
        self.assertEqual(chosen(["auto"], [90]), ["sm_90", "compute_90"])
        self.assertEqual(chosen(["auto"], [86, 89]), ["sm_86", "sm_89", "compute_89"])

    def test_gpus_newer_than_nvcc_get_ptx(self):
        self.assertEqual(chosen(["auto"], [100], CUDA_12), ["compute_90"])

    def test_gpus_that_are_too_old_are_left_out(self):
        self.assertEqual(chosen(["auto"], [75, 86]), ["sm_86", "compute_86"])

    def test_all(self):
        self.assertEqual(chosen(["all"], []), ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120", "compute_120"])
        self.assertEqual(chosen(["all"], [], CUDA_12), ["sm_80", "sm_86", "sm_89", "sm_90", "compute_90"])

    def test_names(self):
        self.assertEqual(chosen(["sm_89", "sm_80"], [90]), ["sm_80", "sm_89", "compute_89"])
        for wrong in ("90", "sm_75", "native"):
            with self.assertRaises(SystemExit):
                chosen([wrong], [])


if __name__ == "__main__":
    unittest.main()
