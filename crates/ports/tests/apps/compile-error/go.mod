module broken

go 1.21
